-- Web sessions, hashed. A session that has given the password and not yet the second factor is 'half' and opens nothing.
CREATE TABLE sessions (
  hash {text} PRIMARY KEY,
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  stage {text} NOT NULL CHECK (stage IN ('half', 'full')),
  is_remembered BIGINT NOT NULL DEFAULT 0,
  created_ms BIGINT NOT NULL,
  used_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  origin {text} NOT NULL,
  agent {text} NOT NULL
);

CREATE INDEX sessions_by_user ON sessions (user_id);

CREATE INDEX sessions_by_expiry ON sessions (expires_ms);

-- Authorization codes, hashed. A used one stays until it would have expired, so that its second use is noticed and the
-- token that it gave (its hash) is revoked.
CREATE TABLE codes (
  hash {text} PRIMARY KEY,
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  app_id {text} NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
  redirect_uri {text} NOT NULL,
  scopes {text} NOT NULL,
  challenge {text},
  token_hash {text},
  expires_ms BIGINT NOT NULL
);

CREATE INDEX codes_by_user ON codes (user_id);

CREATE INDEX codes_by_app ON codes (app_id);

CREATE INDEX codes_by_expiry ON codes (expires_ms);

-- One-time recovery codes of the second factor, hashed.
CREATE TABLE recovery_codes (
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hash {text} NOT NULL,
  PRIMARY KEY (user_id, hash)
);

-- Links to set a new password, hashed; one a person at a time.
CREATE TABLE resets (
  hash {text} PRIMARY KEY,
  user_id {text} NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
  expires_ms BIGINT NOT NULL
);
