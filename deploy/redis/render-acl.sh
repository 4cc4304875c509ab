#!/bin/sh
# Print the access list that a server can load: render-acl.sh users.acl > /run/redis/users.acl
# Passwords come from STUD_REDIS_PASSWORD_<USER>; only their hashes are printed.
set -eu

hash_of() {
    eval "password=\${STUD_REDIS_PASSWORD_$1:-}"
    if [ -z "$password" ]; then
        echo "STUD_REDIS_PASSWORD_$1 is not set" >&2
        exit 2
    fi
    printf '%s' "$password" | sha256sum | cut -d ' ' -f 1
}

script='/^#/d
:join
/\\$/{
N
s/ *\\\n */ /
b join
}'
for user in TABLE DEALER RULES WALLET OPERATOR; do
    hash=$(hash_of "$user")
    script="$script
s/@$user@/$hash/"
done
sed "$script" "$1"
