wrong=0
check() {
    got=$(echo "$1" | tr ' ' '\n' | sh total.sh)
    if [ "$got" = "$2" ]; then echo "ok     $1 = $2"; else echo "WRONG  $1 = $got, not $2"; wrong=1; fi
}
check "100 250" 350
check "4000 8000" 10800
check "10000" 9000
exit $wrong
