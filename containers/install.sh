#!/bin/sh
# Installs Joulewise from /src into a Debian or Ubuntu, with the versions of requirements.lock. Both recipes run it.
set -eu
cd /src
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends python3-venv
python3 -m venv /opt/joulewise
sed -n 's/^\([a-z0-9.-]*==[^ ]*\).*/\1/p' requirements.lock > versions.txt
/opt/joulewise/bin/python -m pip install --no-cache-dir --constraint versions.txt '.[cluster]'
ln -s /opt/joulewise/bin/joulewise /usr/local/bin/joulewise
rm -rf /src /var/lib/apt/lists/*
