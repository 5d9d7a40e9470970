#!/usr/bin/env bash
# Checks an installed libwhorl.so: its soname, and that it gives out what include/whorl declares and
# nothing of the layers beneath.
#
# usage: shared_library.sh LIBRARIES VERSION
set -euo pipefail
library="$1/libwhorl.so"
soname=$(readelf -d "$library" | sed -nE 's/.*SONAME.*\[(.*)\]/\1/p')
[[ "$soname" == "libwhorl.so.$2" && -e "$1/$soname" ]] || {
  echo "the soname of $library is \"$soname\", not libwhorl.so.$2, or no file has it"
  exit 1
}
symbols=$(nm -DC --defined-only "$library" | cut -d' ' -f3-)
grep -q '^whorl::binfhe::Server::Server(' <<<"$symbols" || {
  echo "$library gives out no whorl::binfhe::Server"
  exit 1
}
inner=$(grep -E '^((typeinfo|vtable|typeinfo name|guard variable|VTT) for )?whorl::(math|ring|backend|run|lattice|schemes|circuits|io)::' \
  <<<"$symbols" | head -n 20) || true
[[ -z "$inner" ]] || {
  printf '%s gives out what no public header declares:\n%s\n' "$library" "$inner"
  exit 1
}
echo "$soname gives out $(wc -l <<<"$symbols") symbols"
