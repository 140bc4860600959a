import Formats
import Foundation
import ServiceKit

extension ExportConfiguration {
    /// Resolves settings: flags, then environment variables, then defaults. An empty variable counts as absent.
    ///
    /// The folder of credentials must exist.
    /// - Throws: `SettingError` for the first invalid setting.
    static func resolve(
        _ options: ExportOptions, environment: [String: String]
    ) throws(SettingError) -> ExportConfiguration {
        let values = ExportValues(options: options, settings: SettingValues(environment: environment))
        var configuration = ExportConfiguration()
        configuration.folder = try values.folder()
        configuration.formats = try values.formats()
        configuration.retention = try values.retention()
        configuration.bytesPerDay = try DailyQuota.limit(
            .exportBytesPerDay, options.bytesPerDay, environment: environment, minimum: 1_000_000)
        configuration.upload = try values.upload()
        return configuration
    }
}

private struct ExportValues {
    let options: ExportOptions
    let settings: SettingValues

    func folder() throws(SettingError) -> String? {
        let path = settings.text(.exportFolder, options.folder) ?? ExportConfiguration.standardFolder
        guard !path.isEmpty else { throw SettingError(.exportFolder, refusing: path) }
        return path == "none" ? nil : path
    }

    func formats() throws(SettingError) -> [ExportFormat] {
        guard let list = settings.text(.exportFormats, options.formats) else {
            return ExportConfiguration.standardFormats
        }
        var wanted: Set<ExportFormat> = []
        for name in list.split(separator: ",", omittingEmptySubsequences: false) {
            wanted.insert(try format(.exportFormats, String(name)))
        }
        return ExportFormat.allCases.filter(wanted.contains)
    }

    func retention() throws(SettingError) -> Int? {
        let text = settings.text(.exportRetention, options.retention) ?? Setting.exportRetention.standard
        guard text != Setting.exportRetention.standard else { return nil }
        // The broker keeps the status of an export, with its files, for 48 hours.
        guard let days = Int(text), (2...36_500).contains(days) else {
            throw SettingError(.exportRetention, refusing: text)
        }
        return days
    }

    func upload() throws(SettingError) -> ExportConfiguration.Upload? {
        let format = try uploadFormat()
        guard let url = try uploadURL() else { return nil }
        return ExportConfiguration.Upload(url: url, format: format, credentials: try credentials())
    }

    private func uploadFormat() throws(SettingError) -> ExportFormat {
        guard let name = settings.text(.uploadFormat, options.uploadFormat) else {
            return ExportConfiguration.Upload.standardFormat
        }
        return try format(.uploadFormat, name)
    }

    private func format(_ setting: Setting, _ name: String) throws(SettingError) -> ExportFormat {
        guard let format = ExportFormat(rawValue: name) else {
            let available = ExportFormat.allCases.map(\.rawValue).sorted().joined(separator: ", ")
            throw SettingError(setting, "unknown export format '\(name)'; available: \(available)")
        }
        return format
    }

    /// Errors never quote the address, because it may contain a password or a key.
    private func uploadURL() throws(SettingError) -> String? {
        guard let text = settings.text(.uploadURL, options.uploadURL) else { return nil }
        guard let url = URLComponents(string: text, encodingInvalidCharacters: false), let host = url.host,
            !host.isEmpty, ["http", "https"].contains(url.scheme), (1...65_535).contains(url.port ?? 1),
            url.user == nil, url.fragment == nil
        else {
            throw SettingError(.uploadURL, "is not accepted; expected \(Setting.uploadURL.accepted)")
        }
        guard url.scheme == "https" || IPAddress.isLoopback(host) else {
            throw SettingError(.uploadURL, "is not accepted: http:// sends credentials unencrypted; expected https://")
        }
        return text
    }

    private func credentials() throws(SettingError) -> String {
        guard let path = settings.text(.uploadCredentials, options.uploadCredentials) else {
            throw SettingError(.uploadCredentials, "is missing; --upload-url requires it")
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw SettingError(.uploadCredentials, "cannot read '\(path)': no such folder")
        }
        return path
    }
}
