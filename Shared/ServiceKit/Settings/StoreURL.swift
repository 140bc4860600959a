import Foundation
package import Storage

/// The location of a service's store.
package enum StoreURL: Hashable, Sendable, CustomStringConvertible {
    /// A file; relative paths start at the working directory.
    case sqlite(path: String)
    /// A database that the replicas of a service share.
    case postgres(PostgresAddress)

    package var description: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        case .postgres(let address): "\(address)"
        }
    }
}

extension StoreURL {
    /// - Parameter password: reads PostgreSQL's password on each connect.
    /// - Throws: `SettingError` for an invalid URL. The error does not quote the URL: it may contain a password.
    init(
        setting text: String, caFile: String? = nil, password: @escaping @Sendable () -> String? = { nil }
    ) throws(SettingError) {
        let setting = Setting.storeURL
        if text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") {
            let address: PostgresAddress
            do {
                address = try PostgresAddress(text, caFile: caFile, password: password)
            } catch {
                throw SettingError(setting.name, "\(error.text); expected \(setting.accepted)")
            }
            guard !address.needsCAFile else {
                throw SettingError(
                    setting.name, "names a server that is not on loopback, which requires \(Setting.storeCAFile.name)")
            }
            self = .postgres(address)
            return
        }
        let scheme = "sqlite:"
        guard text.hasPrefix(scheme), text.count > scheme.count else {
            throw SettingError(setting.name, "is not a store URL; expected \(setting.accepted)")
        }
        self = .sqlite(path: String(text.dropFirst(scheme.count)))
    }
}

extension StoreURL {
    /// The size of the store and the free space of its disk, as gauges.
    var metrics: [String: Double] {
        switch self {
        case .sqlite(let path):
            var gauges: [String: Double] = [:]
            // Without opening the files: to close one would end SQLite's locks on it, and the next program that closes the store
            // would then delete its log.
            let sizes = ["", "-wal", "-shm"].compactMap { suffix in
                try? FileManager.default.attributesOfItem(atPath: path + suffix)[.size] as? Int
            }
            if !sizes.isEmpty { gauges["pacebus_store_bytes"] = Double(sizes.reduce(0, +)) }
            let folder = URL(filePath: path).deletingLastPathComponent().path
            let disk = try? FileManager.default.attributesOfFileSystem(forPath: folder)
            if let free = disk?[.systemFreeSize] as? NSNumber { gauges["pacebus_disk_free_bytes"] = free.doubleValue }
            return gauges
        // The server's own metrics have its figures.
        case .postgres: return [:]
        }
    }
}
