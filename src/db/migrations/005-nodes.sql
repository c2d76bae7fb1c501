-- What a node tells of itself while it serves, for those who run the installation. `alive_until_ms` is put further into
-- the future again and again; a node that stopped in order sets it to 0, one that died lets it pass.
ALTER TABLE nodes ADD COLUMN host {text} NOT NULL DEFAULT '';

ALTER TABLE nodes ADD COLUMN address {text} NOT NULL DEFAULT '';

ALTER TABLE nodes ADD COLUMN started_ms BIGINT;

ALTER TABLE nodes ADD COLUMN alive_until_ms BIGINT NOT NULL DEFAULT 0;
