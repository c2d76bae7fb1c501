-- A node may keep a copy of content on a disk of its own, in front of the shared content store. `replica` says that it
-- does. `held` is the sum of the sizes of its copies and `held_rev` grows with each change of what it holds, both kept in
-- the transaction that changes the copies. `stalled_ms` is since when it waits for a content store that is away.
ALTER TABLE nodes ADD COLUMN replica BIGINT NOT NULL DEFAULT 0;

ALTER TABLE nodes ADD COLUMN held BIGINT NOT NULL DEFAULT 0;

ALTER TABLE nodes ADD COLUMN held_rev BIGINT NOT NULL DEFAULT 0;

ALTER TABLE nodes ADD COLUMN stalled_ms BIGINT;

-- The copies that a node holds of content that is not in the database itself. `place` is the file on the node's own disk,
-- which is durable before its row. `blocks` are the hashes of the full blocks, one behind the other, so that any part
-- of the file can be verified before it is sent. The content may be gone from `blobs` already: the node then lets go of
-- its copy when it comes to know.
CREATE TABLE replica_blobs (
  node_id {text} NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  hash {text} NOT NULL,
  size BIGINT NOT NULL,
  place {text} NOT NULL,
  blocks {blob} NOT NULL,
  PRIMARY KEY (node_id, hash)
);

-- Content that a node tried to bring and could not. It tries again at `retry_ms`.
CREATE TABLE replica_failures (
  node_id {text} NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  hash {text} NOT NULL,
  tries BIGINT NOT NULL,
  retry_ms BIGINT NOT NULL,
  reason {text} NOT NULL,
  PRIMARY KEY (node_id, hash)
);
