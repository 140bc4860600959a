import ArgumentParser
import Formats
import Foundation
import ServiceKit

/// The settings of the export targets.
///
/// - `folder` (`EXPORT_FOLDER`): the export folder; `./data/exports` by default.
/// - `formats` (`EXPORT_FORMATS`): the formats of its files; FIT by default.
/// - `retention` (`EXPORT_RETENTION`): the days after which its files are removed; never by default.
/// - `bytesPerDay` (`EXPORT_BYTES_PER_DAY`): the bytes of files and uploads of an account in a day; 50 GB by default.
/// - `upload` (`UPLOAD_URL`, `UPLOAD_FORMAT`, `UPLOAD_CREDENTIALS`): the HTTP upload; none by default.
struct ExportConfiguration: Equatable, Sendable {
    static let standardFolder = "./data/exports"
    /// The format that keeps the most. Clients get the others on request.
    static let standardFormats = [ExportFormat.fit]
    /// Enough for 40 million items in all formats.
    static let standardBytesPerDay = 50_000_000_000

    struct Upload: Equatable, Sendable {
        static let standardFormat = ExportFormat.fit

        /// The address, with TLS unless it is on this machine.
        var url: String
        var format = standardFormat
        /// The folder of the users' credentials.
        var credentials: String
    }

    /// `nil` for no files.
    var folder: String? = standardFolder
    /// In the order of `ExportFormat`, each once.
    var formats = standardFormats
    /// `nil` for ever.
    var retention: Int?
    var bytesPerDay = standardBytesPerDay
    var upload: Upload?

    /// The folder of temporary files, which have no names: large enough for files of workouts.
    var temporaryFolder: String { folder ?? FileManager.default.temporaryDirectory.path }
}

/// The service's own flags. An absent flag takes its value from the environment, then from the default.
struct ExportOptions: ParsableArguments {
    @Option(
        name: [.customLong("folder"), .customLong(Setting.exportFolder.flag)],
        help: Setting.exportFolder.help)
    var folder: String?

    @Option(
        name: [.customLong("formats"), .customLong(Setting.exportFormats.flag)],
        help: Setting.exportFormats.help)
    var formats: String?

    @Option(name: .customLong(Setting.exportRetention.flag), help: Setting.exportRetention.help)
    var retention: String?

    @Option(name: .customLong(Setting.exportBytesPerDay.flag), help: Setting.exportBytesPerDay.help)
    var bytesPerDay: String?

    @Option(name: .customLong(Setting.uploadURL.flag), help: Setting.uploadURL.help)
    var uploadURL: String?

    @Option(name: .customLong(Setting.uploadFormat.flag), help: Setting.uploadFormat.help)
    var uploadFormat: String?

    @Option(name: .customLong(Setting.uploadCredentials.flag), help: Setting.uploadCredentials.help)
    var uploadCredentials: String?
}

/// The service's own settings.
extension Setting {
    static let exportFolder = Setting(
        flag: "export-folder", explanation: "The folder of exported files, with a subfolder per user",
        accepted: "a path, created if missing, or none", standard: ExportConfiguration.standardFolder)
    static let exportFormats = Setting(
        flag: "export-formats", explanation: "The formats of the files",
        accepted: "a list of \(ExportFormat.names)",
        standard: ExportConfiguration.standardFormats.map(\.rawValue).joined(separator: ","))
    static let exportRetention = Setting(
        flag: "export-retention", explanation: "How long exported files are kept",
        accepted: "forever, or 2 to 36500 days", standard: "forever")
    static let exportBytesPerDay = Setting(
        flag: "export-bytes-per-day", explanation: "The bytes of files and uploads of an account in a day of UTC",
        accepted: "a number of at least 1000000", standard: "\(ExportConfiguration.standardBytesPerDay)")
    static let uploadURL = Setting(
        flag: "upload-url", explanation: "The address for uploads",
        accepted: "an https:// URL; http:// on this machine only, because requests contain credentials"
    )
    static let uploadFormat = Setting(
        flag: "upload-format", explanation: "The format of uploads", accepted: "one of \(ExportFormat.names)",
        standard: ExportConfiguration.Upload.standardFormat.rawValue)
    static let uploadCredentials = Setting(
        flag: "upload-credentials",
        explanation: "The folder of credentials, one file per user, named after the user; other users have no uploads",
        accepted: "a folder of files with one line, 'bearer TOKEN' or 'basic NAME:PASSWORD', and mode 600")
}

extension ExportFormat {
    /// All formats, as settings list them.
    fileprivate static let names = allCases.map(\.rawValue).joined(separator: ",")
}
