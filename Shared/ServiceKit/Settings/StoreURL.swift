import Foundation

/// The location of a service's store.
package enum StoreURL: Hashable, Sendable, CustomStringConvertible {
    /// A file; relative paths start at the working directory.
    case sqlite(path: String)

    package var description: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        }
    }
}

extension StoreURL {
    /// - Throws: `SettingError` for anything but `sqlite:PATH`. The error does not quote the URL: it may contain a password.
    init(setting text: String) throws(SettingError) {
        let setting = Setting.storeURL
        if text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") {
            throw SettingError(setting.name, "PostgreSQL is not available yet; expected \(setting.accepted)")
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
            let sizes = ["", "-wal", "-shm"].compactMap { suffix in
                try? FileHandle(forReadingFrom: URL(filePath: path + suffix)).seekToEnd()
            }
            if !sizes.isEmpty { gauges["pacebus_store_bytes"] = Double(sizes.reduce(0, +)) }
            let folder = URL(filePath: path).deletingLastPathComponent().path
            let disk = try? FileManager.default.attributesOfFileSystem(forPath: folder)
            if let free = disk?[.systemFreeSize] as? NSNumber { gauges["pacebus_disk_free_bytes"] = free.doubleValue }
            return gauges
        }
    }
}
