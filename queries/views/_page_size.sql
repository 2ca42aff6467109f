-- SPDX-License-Identifier: MIT
-- _page_size: one row: the page size in bytes of the machine that was recorded.
CREATE VIEW _page_size(
  page_bytes         -- from meta; 4096 if the recording does not have it
) AS
SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'page_size'), 4096);
