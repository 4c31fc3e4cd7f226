total=0
while read -r price; do
    total=$((total + price))
done
if [ "$total" -gt 10000 ]; then
    total=$((total * 90 / 100))
fi
echo "$total"
