#!/bin/sh
# The container's command: render the access list into memory, then become the server.
set -eu
here=$(dirname "$0")
umask 077
"$here/render-acl.sh" "$here/users.acl" > /run/redis/users.acl
# The server needs none of the passwords, so its environment holds none.
unset STUD_REDIS_PASSWORD_TABLE STUD_REDIS_PASSWORD_DEALER STUD_REDIS_PASSWORD_RULES \
    STUD_REDIS_PASSWORD_WALLET STUD_REDIS_PASSWORD_OPERATOR
exec redis-server "$here/redis.conf" --dir /data
