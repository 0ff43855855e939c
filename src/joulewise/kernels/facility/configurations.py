"""The best that a processor can do at a price of power, and how that changes from price to price."""

from __future__ import annotations

from typing import Any, NamedTuple

from joulewise.kernels.jit import kernel, shared
from joulewise.kernels.records import record


@record
class Menu(NamedTuple):
    """What the cores of one processor may run together.

    A pattern says how many cores run tasks of each class: pattern n has the members from `first[n]` to `first[n + 1]`,
    each `count` cores of the class `of_class`, which its neighbours slow to `pace` of its speed. A class has the
    options from `option_first[c]` to `option_first[c + 1]`: a task type in a P-state, with its speed, its power and the
    pace that it must be above to be in time. Every member has such an option.
    """

    first: Any
    of_class: Any
    count: Any
    pace: Any
    option_first: Any
    task: Any
    speed: Any
    power_w: Any
    least_pace: Any


@shared
def best_option(menu, member, price, task_price):
    """The option in time that earns most above the price of its power, and of those the one of least power."""
    best, best_value = -1, 0.0
    of_class = menu.of_class[member]
    for option in range(menu.option_first[of_class], menu.option_first[of_class + 1]):
        if menu.pace[member] <= menu.least_pace[option]:
            continue
        earned = task_price[menu.task[option]] * menu.speed[option] * menu.pace[member]
        value = earned - price * menu.power_w[option]
        if best < 0 or value > best_value or (value == best_value and menu.power_w[option] < menu.power_w[best]):
            best, best_value = option, value
    return best, best_value


@shared
def best_pattern(menu, price, task_price):
    """The pattern that earns most above the price of its power; pattern 0, in which all cores rest, earns 0."""
    best, best_value = 0, 0.0
    for pattern in range(1, menu.first.size - 1):
        value = 0.0
        for member in range(menu.first[pattern], menu.first[pattern + 1]):
            value += menu.count[member] * best_option(menu, member, price, task_price)[1]
        if value > best_value * (1.0 + 1e-13):
            best, best_value = pattern, value
    return best, best_value


@shared
def choose(menu, price, task_price, pattern, option, power_w, value, at):
    """Write down the best configuration at a price as vertex `at`; what it earns above the price of its power."""
    best, net = best_pattern(menu, price, task_price)
    pattern[at] = best
    power_w[at] = 0.0
    value[at] = 0.0
    option[at] = -1
    for member in range(menu.first[best], menu.first[best + 1]):
        chosen = best_option(menu, member, price, task_price)[0]
        option[at, member - menu.first[best]] = chosen
        power_w[at] += menu.count[member] * menu.power_w[chosen]
        value[at] += menu.count[member] * task_price[menu.task[chosen]] * menu.speed[chosen] * menu.pace[member]
    return net


@kernel
def trace_curve(menu, task_price, highest, pattern, option, power_w, value, stack):
    """The vertices of what a processor earns against the power of its cores, by task prices; returns their number.

    Between the best configurations of two prices lies another one if and only if it is best at the price at which
    those two earn the same. The vertices are in no order; `stack` is room for pairs that are to be looked between.
    Returns -1 where the room for vertices is too small.
    """
    choose(menu, 0.0, task_price, pattern, option, power_w, value, 0)
    choose(menu, highest, task_price, pattern, option, power_w, value, 1)
    n, n_open = 2, 1
    stack[0, 0], stack[0, 1] = 0, 1
    while n_open > 0:
        n_open -= 1
        high, low = stack[n_open, 0], stack[n_open, 1]
        if power_w[high] <= power_w[low] * (1.0 + 1e-12) or value[high] <= value[low]:
            continue
        if n == power_w.size:
            return -1
        price = (value[high] - value[low]) / (power_w[high] - power_w[low])
        net = choose(menu, price, task_price, pattern, option, power_w, value, n)
        reached = value[high] - price * power_w[high]
        if net > reached + 1e-11 * value[high] and power_w[low] < power_w[n] < power_w[high]:
            stack[n_open, 0], stack[n_open, 1] = high, n
            stack[n_open + 1, 0], stack[n_open + 1, 1] = n, low
            n_open += 2
            n += 1
    return n
