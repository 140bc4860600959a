import ArgumentParser
import ServiceKit

/// Where finished workouts are brought to.
///
/// - `folder` (`EXPORT_FOLDER`): where files are left; by default `./data/exports`.
/// - `formats` (`EXPORT_FORMATS`): which files; by default all there are.
/// - `upload` (`UPLOAD_URL`, `UPLOAD_FORMAT`, `UPLOAD_CREDENTIALS`): where workouts are uploaded to; by default nowhere.
struct ExportConfiguration: Equatable, Sendable {
    static let standardFolder = "./data/exports"

    struct Upload: Equatable, Sendable {
        static let standardFormat = ExportFormat.fit

        /// Where to: over TLS, or on this machine.
        var url: String
        var format = standardFormat
        /// The folder of the users' credentials.
        var credentials: String
    }

    /// `nil` when no files are to be left.
    var folder: String? = standardFolder
    /// In the order of `ExportFormat`, each once.
    var formats = ExportFormat.allCases
    var upload: Upload?
}

/// The service's own flags. What is absent comes from the environment, else from the default.
struct ExportOptions: ParsableArguments {
    @Option(
        name: [.customLong("folder"), .customLong(Setting.exportFolder.flag)],
        help: Setting.exportFolder.help)
    var folder: String?

    @Option(
        name: [.customLong("formats"), .customLong(Setting.exportFormats.flag)],
        help: Setting.exportFormats.help)
    var formats: String?

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
        flag: "export-folder", explanation: "Where files are left, in a folder for each user",
        accepted: "a folder, made if need be, or none", standard: ExportConfiguration.standardFolder)
    static let exportFormats = Setting(
        flag: "export-formats", explanation: "Which files are left there",
        accepted: "a list of \(ExportFormat.names)", standard: ExportFormat.names)
    static let uploadURL = Setting(
        flag: "upload-url", explanation: "Where workouts are uploaded to",
        accepted: "https:// with a host, and a path if need be; http:// to this machine alone, for credentials go there"
    )
    static let uploadFormat = Setting(
        flag: "upload-format", explanation: "What is uploaded", accepted: "one of \(ExportFormat.names)",
        standard: ExportConfiguration.Upload.standardFormat.rawValue)
    static let uploadCredentials = Setting(
        flag: "upload-credentials",
        explanation: "Whose workouts are uploaded: a folder with a file for each user, named as the user",
        accepted:
            "a folder of files with one line, 'bearer TOKEN' or 'basic NAME:PASSWORD', that not everybody can read")
}

extension ExportFormat {
    /// All of them, as settings list them.
    fileprivate static let names = allCases.map(\.rawValue).joined(separator: ",")
}
