-- Codes by which somebody shows that an address is theirs before it gets an account, hashed; one an address at a time.
CREATE TABLE sign_up_codes (
  hash {text} PRIMARY KEY,
  email {text} NOT NULL UNIQUE,
  expires_ms BIGINT NOT NULL
);

CREATE INDEX sign_up_codes_by_expiry ON sign_up_codes (expires_ms);
