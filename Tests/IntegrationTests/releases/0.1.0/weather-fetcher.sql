PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE store (service TEXT NOT NULL, version INTEGER NOT NULL, epoch INTEGER NOT NULL);
INSERT INTO store VALUES('weather-fetcher',1,1);
CREATE TABLE IF NOT EXISTS "collection_sessions" (
    shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
);
COMMIT;
