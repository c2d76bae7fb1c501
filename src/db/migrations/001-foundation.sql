-- Words in braces are replaced for the engine: {text} orders by bytes on both, {blob} is raw bytes,
-- {serial} is a primary key that the database counts up. Times are milliseconds since 1970, UTC.

-- Facts about the installation as a whole: one row a key. `epoch` names this history of changes; it is made
-- anew when the data are restored from a backup, so that a reader of the change log can tell.
CREATE TABLE meta (
  key {text} PRIMARY KEY,
  value {text} NOT NULL
);

-- A store is what ids are made of: a user's root or one shared folder. `used` is the sum of the sizes of
-- its files, kept in the transaction that changes them. `appdata` is the object that holds the folders of
-- applications, once there is one.
CREATE TABLE stores (
  sid {text} PRIMARY KEY,
  kind {text} NOT NULL CHECK (kind IN ('root', 'share')),
  used BIGINT NOT NULL DEFAULT 0,
  appdata {text},
  created_ms BIGINT NOT NULL
);

-- A person. The root is a store of its own. Without a password hash nobody signs in as this person.
CREATE TABLE users (
  id {text} PRIMARY KEY,
  email {text} NOT NULL UNIQUE,
  first_name {text} NOT NULL,
  last_name {text} NOT NULL,
  is_admin BIGINT NOT NULL DEFAULT 0,
  password_hash {text},
  quota BIGINT,
  root_sid {text} NOT NULL UNIQUE REFERENCES stores (sid),
  created_ms BIGINT NOT NULL
);

-- Content, named by its hash and never changed. Small content is in `data`; larger content is a file of the
-- content store, and `place` says which. A row is there as long as an object names it.
CREATE TABLE blobs (
  hash {text} PRIMARY KEY,
  size BIGINT NOT NULL,
  place {text} UNIQUE,
  data {blob},
  created_ms BIGINT NOT NULL,
  CHECK ((place IS NULL) <> (data IS NULL))
);

-- Folders and files, the root of each store among them (its oid is all zeros, its parent NULL). Moving a
-- folder changes its own row alone. `rev` grows with each change that a reader of the object can see, and `listing`
-- with each change that a reader of its list of children can see.
-- Deleted objects have no row. A mount of a shared folder is a row of kind 'mount' whose oid is the share's sid.
CREATE TABLE objects (
  sid {text} NOT NULL REFERENCES stores (sid),
  oid {text} NOT NULL,
  parent {text},
  name {text} NOT NULL,
  name_key {text} NOT NULL,
  kind {text} NOT NULL CHECK (kind IN ('folder', 'file', 'mount')),
  rev BIGINT NOT NULL DEFAULT 1,
  listing BIGINT NOT NULL DEFAULT 0,
  content {text} REFERENCES blobs (hash),
  size BIGINT,
  modified_ms BIGINT,
  created_ms BIGINT NOT NULL,
  PRIMARY KEY (sid, oid),
  FOREIGN KEY (sid, parent) REFERENCES objects (sid, oid),
  CHECK ((content IS NULL) = (size IS NULL))
);

-- No two live siblings have the same name in its normal form; children are found by it too.
CREATE UNIQUE INDEX objects_by_name ON objects (sid, parent, name_key);

-- Who still names a blob.
CREATE INDEX objects_by_content ON objects (content);

-- Applications. The secret is kept hashed. redirect_uris is a JSON list. A token lifetime of 0 means for ever.
CREATE TABLE apps (
  id {text} PRIMARY KEY,
  secret_hash {text},
  name {text} NOT NULL,
  description {text} NOT NULL DEFAULT '',
  redirect_uris {text} NOT NULL,
  is_public BIGINT NOT NULL DEFAULT 0,
  token_lifetime_s BIGINT NOT NULL DEFAULT 31536000,
  created_ms BIGINT NOT NULL
);

-- The application of every token that belongs to no registered one.
INSERT INTO apps (id, secret_hash, name, description, redirect_uris, created_ms)
VALUES ('00000000-0000-4000-8000-000000000000', NULL, 'Starling', 'Tokens that belong to no registered application', '[]', 0);

-- Access tokens, hashed. The device id is what others may know of a token.
CREATE TABLE tokens (
  hash {text} PRIMARY KEY,
  device_id {text} NOT NULL UNIQUE,
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  app_id {text} NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
  scopes {text} NOT NULL,
  created_ms BIGINT NOT NULL,
  expires_ms BIGINT
);

CREATE INDEX tokens_by_user ON tokens (user_id);

CREATE INDEX tokens_by_app ON tokens (app_id);

-- The folder of one application in one user's root. It goes with its object; the next use makes another.
CREATE TABLE sandboxes (
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  app_id {text} NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
  sid {text} NOT NULL,
  oid {text} NOT NULL,
  PRIMARY KEY (user_id, app_id),
  FOREIGN KEY (sid, oid) REFERENCES objects (sid, oid) ON DELETE CASCADE
);

CREATE INDEX sandboxes_by_object ON sandboxes (sid, oid);

CREATE INDEX sandboxes_by_app ON sandboxes (app_id);

-- Nodes. `used` is the sum of the sizes of the blobs; an absent capacity means what the disk has.
CREATE TABLE nodes (
  id {text} PRIMARY KEY,
  capacity BIGINT,
  used BIGINT NOT NULL DEFAULT 0,
  created_ms BIGINT NOT NULL
);

-- Folders whose content a node is set not to hold.
CREATE TABLE deselections (
  node_id {text} NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  sid {text} NOT NULL,
  oid {text} NOT NULL,
  PRIMARY KEY (node_id, sid, oid),
  FOREIGN KEY (sid, oid) REFERENCES objects (sid, oid) ON DELETE CASCADE
);

CREATE INDEX deselections_by_object ON deselections (sid, oid);

-- Uploads in progress: one row an Upload-ID (kept hashed), the bytes received so far in a staged file of
-- the node. `received` bytes of it are durable; what lies behind them is not ours yet.
CREATE TABLE uploads (
  id {text} PRIMARY KEY,
  node_id {text} NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  sid {text} NOT NULL,
  oid {text} NOT NULL,
  staged {text} NOT NULL UNIQUE,
  received BIGINT NOT NULL,
  used_ms BIGINT NOT NULL,
  FOREIGN KEY (sid, oid) REFERENCES objects (sid, oid) ON DELETE CASCADE
);

CREATE INDEX uploads_by_object ON uploads (sid, oid);

CREATE INDEX uploads_by_user ON uploads (user_id);

CREATE INDEX uploads_by_use ON uploads (node_id, used_ms);

-- The hashes of the full blocks of an upload in progress, so that it completes without being read again.
CREATE TABLE upload_blocks (
  upload {text} NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
  position BIGINT NOT NULL,
  hash {blob} NOT NULL,
  PRIMARY KEY (upload, position)
);

-- The change log: a row for each change of the tree and of access, written in the transaction that makes it.
-- `actor` is the user (empty: the command line), `device` the token's device id, `before` and `after` JSON.
CREATE TABLE changes (
  seq {serial},
  epoch {text} NOT NULL,
  at_ms BIGINT NOT NULL,
  actor {text} NOT NULL,
  device {text} NOT NULL,
  origin {text} NOT NULL,
  action {text} NOT NULL,
  subject {text} NOT NULL,
  before {text} NOT NULL,
  after {text} NOT NULL
);
