# Suppressions leave out leaks and findings of growth; growth counts all blocks, and says so.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM site_growth; INSERT INTO site_growth(process_id, call_site_id, snapshots, from_bytes, to_bytes, pattern, since_ns, until_ns, bytes_per_s, grown_bytes_margin)
  VALUES (1, 3, 64, 0, 9000000, 'steady', 1000000000, 90000000000, 0.5, NULL)"
echo 'leak:^Cache::reserve' >rules
for rules in "" "--suppressions rules"; do
    # shellcheck disable=SC2086
    mtrace-query summary run.db --process 1 $rules | grep -c 'keeps growing' || :
    # shellcheck disable=SC2086
    mtrace-query growth run.db $rules
done
# expect stdout
#|1
#|process   growth       rate  pattern  since  from       to  where                       site
#|      1  8.6 MiB  1.8 KiB/h  steady   1.0 s   0 B  8.6 MiB  Cache::reserve  cache.c:31     3
#|next: mtrace-query groups run.db --site 3
#|0
#|process   growth       rate  pattern  since  from       to  where                       site
#|      1  8.6 MiB  1.8 KiB/h  steady   1.0 s   0 B  8.6 MiB  Cache::reserve  cache.c:31     3
#|next: mtrace-query groups run.db --site 3
# expect stderr
#|mtrace-query: note: suppressions leave out leaks; 'growth' counts all blocks
