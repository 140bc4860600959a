import ArgumentParser
import ServiceKit

/// The service's own flags. What is absent comes from the environment, else from the default.
struct APNsOptions: ParsableArguments {
    @Option(name: .customLong(Setting.apnsKeyFile.flag), help: Setting.apnsKeyFile.help)
    var keyFile: String?

    @Option(name: .customLong(Setting.apnsKeyID.flag), help: Setting.apnsKeyID.help)
    var keyID: String?

    @Option(name: .customLong(Setting.apnsTeamID.flag), help: Setting.apnsTeamID.help)
    var teamID: String?

    @Option(name: .customLong(Setting.apnsBundleID.flag), help: Setting.apnsBundleID.help)
    var bundleID: String?

    @Option(name: .customLong(Setting.apnsURL.flag), help: Setting.apnsURL.help)
    var url: String?

    @Option(name: .customLong(Setting.apnsCAFile.flag), help: Setting.apnsCAFile.help)
    var caFile: String?
}
