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
symbols=$(nm -D --defined-only "$library" | cut -d' ' -f3)
# By mangled names: whorl::binfhe::Server::Server, typeinfo for whorl::Error.
for wanted in _ZN5whorl6binfhe6ServerC _ZTIN5whorl5ErrorE; do
  grep -q "^$wanted" <<<"$symbols" || {
    echo "$library does not give out $wanted"
    exit 1
  }
done
layers='(4math|4ring|7backend|3run|7lattice|7schemes|8circuits)'
inner=$(grep -E "^_Z(T[ISV]|GV)?NK?5whorl$layers" <<<"$symbols" | c++filt | head -n 20) || true
[[ -z "$inner" ]] || {
  printf '%s gives out what no public header declares:\n%s\n' "$library" "$inner"
  exit 1
}
echo "$soname gives out $(wc -l <<<"$symbols") symbols"
