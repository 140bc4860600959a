package import Storage

extension ServiceContext {
    /// Opens the store that the settings name.
    package func openStore(_ schema: StoreSchema) throws(StoreError) -> any Store {
        switch configuration.store {
        case .sqlite(let path): try SQLiteStore(path: path, schema: schema, shards: configuration.shards.shards)
        }
    }
}
