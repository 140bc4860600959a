import ServiceKit

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
