# Blocks of known pools and wrappers are attributed to their callers. Functions with similar names are not skipped.
. "$CASES/../fixture.sh"
for name in AcquireAlignedMemory my_malloc av_malloc av_mallocz_array ggc_internal_alloc ggc_internal_cleared_alloc AllocSetContextCreateInternal \
    palloc palloc0 MemoryContextAllocZero g_slice_alloc zmalloc zmalloc_usable Perl_more_bodies Perl_newSV ngx_palloc apr_pcalloc _talloc_zero dynamic_array_reserve strbuf_grow ssh_malloc Buffer::reserve List::ensureCapacity main my_mallocator \
    AcquireImage av_frame_alloc palloc0_user grow_list reserved widget_alloc ngx_http_create_request; do
    sqlite3 run.db "SELECT '$name', iif(count(*), 'not blamed', 'blamed') FROM call_site_rules WHERE target = 'function' AND '$name' GLOB pattern"
done
# expect stdout
#|AcquireAlignedMemory|not blamed
#|my_malloc|not blamed
#|av_malloc|not blamed
#|av_mallocz_array|not blamed
#|ggc_internal_alloc|not blamed
#|ggc_internal_cleared_alloc|not blamed
#|AllocSetContextCreateInternal|not blamed
#|palloc|not blamed
#|palloc0|not blamed
#|MemoryContextAllocZero|not blamed
#|g_slice_alloc|not blamed
#|zmalloc|not blamed
#|zmalloc_usable|not blamed
#|Perl_more_bodies|not blamed
#|Perl_newSV|blamed
#|ngx_palloc|not blamed
#|apr_pcalloc|not blamed
#|_talloc_zero|not blamed
#|dynamic_array_reserve|not blamed
#|strbuf_grow|not blamed
#|ssh_malloc|not blamed
#|Buffer::reserve|not blamed
#|List::ensureCapacity|not blamed
#|main|blamed
#|my_mallocator|blamed
#|AcquireImage|blamed
#|av_frame_alloc|blamed
#|palloc0_user|blamed
#|grow_list|blamed
#|reserved|blamed
#|widget_alloc|blamed
#|ngx_http_create_request|blamed
