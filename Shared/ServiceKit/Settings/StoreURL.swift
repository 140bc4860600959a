/// Where a service keeps its data.
package enum StoreURL: Hashable, Sendable, CustomStringConvertible {
    /// A file, its path relative to the working directory or absolute.
    case sqlite(path: String)

    package var description: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        }
    }
}

extension StoreURL {
    /// - Throws: `SettingError` for anything but `sqlite:PATH`. It does not quote the URL, which may hold a password.
    init(setting text: String) throws(SettingError) {
        let setting = Setting.storeURL
        if text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") {
            throw SettingError(setting.name, "PostgreSQL is not available yet; expected \(setting.accepted)")
        }
        let scheme = "sqlite:"
        guard text.hasPrefix(scheme), text.count > scheme.count else {
            throw SettingError(setting.name, "is not a store; expected \(setting.accepted)")
        }
        self = .sqlite(path: String(text.dropFirst(scheme.count)))
    }
}
