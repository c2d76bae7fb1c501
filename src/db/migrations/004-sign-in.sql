-- The newest time step of the second factor whose code was used, so that no code works twice.
ALTER TABLE users ADD COLUMN second_factor_step BIGINT NOT NULL DEFAULT 0;

-- Web sessions, hashed. A session that has given the password and not yet the second factor is 'half' and opens nothing;
-- `tries` counts its wrong codes. `credential` is a mark of the password that opened the session: when the password is
-- another one or gone, by whatever road, the session is over.
CREATE TABLE sessions (
  hash {text} PRIMARY KEY,
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  stage {text} NOT NULL CHECK (stage IN ('half', 'full')),
  is_remembered BIGINT NOT NULL DEFAULT 0,
  credential {text} NOT NULL,
  tries BIGINT NOT NULL DEFAULT 0,
  created_ms BIGINT NOT NULL,
  used_ms BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL,
  origin {text} NOT NULL,
  agent {text} NOT NULL
);

CREATE INDEX sessions_by_user ON sessions (user_id);

CREATE INDEX sessions_by_expiry ON sessions (expires_ms);

-- Browsers in which a person has signed in before, hashed. Failures elsewhere do not hold them up.
CREATE TABLE known_browsers (
  hash {text} PRIMARY KEY,
  user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_ms BIGINT NOT NULL
);

CREATE INDEX known_browsers_by_user ON known_browsers (user_id);

CREATE INDEX known_browsers_by_expiry ON known_browsers (expires_ms);

-- Failures that are counted: wrong passwords, codes and secrets. The key is a hash of what they are counted for, the row
-- is worth nothing after its end.
CREATE TABLE failures (
  key {text} PRIMARY KEY,
  failures BIGINT NOT NULL,
  expires_ms BIGINT NOT NULL
);

CREATE INDEX failures_by_expiry ON failures (expires_ms);

-- Authorization codes, hashed. A used one stays for a while after its end, so that its second use is noticed and the
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

-- Consent forms that were answered, hashed: each is good once.
CREATE TABLE spent_forms (
  hash {text} PRIMARY KEY,
  expires_ms BIGINT NOT NULL
);

CREATE INDEX spent_forms_by_expiry ON spent_forms (expires_ms);

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

CREATE INDEX resets_by_expiry ON resets (expires_ms);
