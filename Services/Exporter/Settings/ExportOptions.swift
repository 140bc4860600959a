import ArgumentParser
import ServiceKit

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
