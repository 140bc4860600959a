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
