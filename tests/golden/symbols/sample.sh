#!/usr/bin/env bash
source ./lib.sh
. "other.sh"
LIMIT=3
export NAME="a ${LIMIT} }"
run() {
  local inner=1
  cat <<EOT
not_this() { }
EOT
}
function second { :; }
function third() ( : )
case x in a) echo "b" ;; esac
last() { echo '{'; }
