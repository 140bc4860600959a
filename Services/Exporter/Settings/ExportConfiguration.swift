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
