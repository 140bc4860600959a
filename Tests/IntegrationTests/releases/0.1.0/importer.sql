PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE store (service TEXT NOT NULL, version INTEGER NOT NULL, epoch INTEGER NOT NULL);
INSERT INTO store VALUES('importer',1,1);
CREATE TABLE IF NOT EXISTS "collection_imports" (
    shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
);
CREATE TABLE IF NOT EXISTS "collection_parts" (
    shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
);
CREATE TABLE IF NOT EXISTS "collection_contents" (
    shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
);
CREATE TABLE IF NOT EXISTS "collection_ended" (
    shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
);
CREATE TABLE IF NOT EXISTS "collection_erasures" (
    shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
);
CREATE TABLE IF NOT EXISTS "collection_usage" (
    shard INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (shard, key)
);
COMMIT;
