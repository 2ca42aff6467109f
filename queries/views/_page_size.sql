-- SPDX-License-Identifier: MIT
-- _page_size: one row: bytes of a page on the machine that was recorded.
CREATE VIEW _page_size(
  page_bytes         -- from meta; 4096 when the recording does not say
) AS
SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'page_size'), 4096);
