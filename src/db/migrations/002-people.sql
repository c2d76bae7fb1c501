-- Shared folders. The share's id is its store's. `name` is the one given at creation; people may call it otherwise.
-- `rev` grows with each change that any reader of the share can see.
CREATE TABLE shares (
  sid {text} PRIMARY KEY REFERENCES stores (sid),
  name {text} NOT NULL,
  rev BIGINT NOT NULL DEFAULT 1,
  created_ms BIGINT NOT NULL
);

-- What one person has to do with one share: in it, or gone by their own will (then no group lets them in until they are
-- added or invited again). Permissions are bits: 1 WRITE, 2 MANAGE. `direct` is what was granted to the person (NULL:
-- in through groups alone), `effective` the union with what the groups give, kept in the transaction that changes either,
-- so that a permission check is one look-up by primary key however many shares and groups there are.
-- `name` is the person's own name for the share, `rev` grows with each change that this person alone can see.
CREATE TABLE memberships (
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  sid {text} NOT NULL REFERENCES shares (sid) ON DELETE CASCADE,
  state {text} NOT NULL CHECK (state IN ('joined', 'left')),
  direct BIGINT,
  effective BIGINT NOT NULL,
  name {text} NOT NULL,
  is_external BIGINT NOT NULL DEFAULT 0,
  rev BIGINT NOT NULL DEFAULT 1,
  created_ms BIGINT NOT NULL,
  PRIMARY KEY (user_id, sid)
);

CREATE INDEX memberships_by_share ON memberships (sid);

-- People invited to a share who have not answered, by address: an address need not have an account yet. `invited_by` is
-- an address too and stays when its account goes.
CREATE TABLE invitations (
  sid {text} NOT NULL REFERENCES shares (sid) ON DELETE CASCADE,
  email {text} NOT NULL,
  invited_by {text} NOT NULL,
  permissions BIGINT NOT NULL,
  created_ms BIGINT NOT NULL,
  PRIMARY KEY (sid, email)
);

CREATE INDEX invitations_by_email ON invitations (email);

-- Groups of the organization. The id is the decimal form of a random 32-bit number.
CREATE TABLE org_groups (
  id {text} PRIMARY KEY,
  name {text} NOT NULL,
  created_ms BIGINT NOT NULL
);

CREATE INDEX org_groups_by_name ON org_groups (name, id);

CREATE TABLE group_members (
  group_id {text} NOT NULL REFERENCES org_groups (id) ON DELETE CASCADE,
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  PRIMARY KEY (group_id, user_id)
);

CREATE INDEX group_members_by_user ON group_members (user_id);

-- Groups in shares, with the permissions they give their people.
CREATE TABLE share_groups (
  sid {text} NOT NULL REFERENCES shares (sid) ON DELETE CASCADE,
  group_id {text} NOT NULL REFERENCES org_groups (id) ON DELETE CASCADE,
  permissions BIGINT NOT NULL,
  PRIMARY KEY (sid, group_id)
);

CREATE INDEX share_groups_by_group ON share_groups (group_id);
