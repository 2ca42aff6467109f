# Pools and wrappers of known programs are not blamed, but who asked them is; names that only look alike are.
. "$CASES/../fixture.sh"
for name in AcquireAlignedMemory my_malloc av_malloc av_mallocz_array ggc_internal_alloc ggc_internal_cleared_alloc AllocSetContextCreateInternal \
    palloc palloc0 MemoryContextAllocZero g_slice_alloc zmalloc zmalloc_usable ngx_palloc apr_pcalloc _talloc_zero dynamic_array_reserve strbuf_grow ssh_malloc Buffer::reserve List::ensureCapacity main my_mallocator \
    AcquireImage av_frame_alloc palloc0_user grow_list reserved widget_alloc ngx_http_create_request; do
    sqlite3 run.db "SELECT '$name', iif(count(*), 'not blamed', 'blamed') FROM call_site_rules WHERE target = 'function' AND '$name' GLOB pattern"
done
