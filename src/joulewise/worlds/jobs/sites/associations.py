"""Where jobs stand in the tree of accounts of a site, and which limits accounts and users have there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from joulewise.worlds.jobs.sites.site import ROOT, Account, SiteTables, User


@dataclass(frozen=True)
class Associations:
    """The accounts of a site, and its users in them."""

    tables: SiteTables

    @cached_property
    def accounts(self) -> Mapping[str, Account]:
        """All accounts by name, that of which all others are a part too; none where the site has none, nor users."""
        named = {account.name: account for account in self.tables.accounts}
        return {ROOT: Account(name=ROOT), **named} if named or self.tables.users else {}

    @cached_property
    def users(self) -> Mapping[tuple[str, str], User]:
        """Users with limits of their own, by account and name."""
        return {(user.account, user.name): user for user in self.tables.users}

    @cached_property
    def _accounts_of(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for account in self.tables.accounts:
            for user in account.users:
                found.setdefault(user, []).append(account.name)
        return found

    def account_of(self, account: str | None, user: str | None) -> str | None:
        """The account of a job: what its log says, or else the only one of its user; None where that is not known."""
        if account is not None:
            return account
        possible = self._accounts_of.get(user or "", [])
        return possible[0] if len(possible) == 1 else None

    def chain(self, account: str | None) -> tuple[str, ...]:
        """An account and all of which it is a part, up to the root; itself alone where the site does not have it."""
        return () if account is None else tuple(self._upwards(account))

    def _upwards(self, account: str) -> Iterator[str]:
        name: str | None = account
        while name is not None:
            yield name
            of = self.accounts.get(name)
            name = None if of is None or name == ROOT else of.parent or ROOT
