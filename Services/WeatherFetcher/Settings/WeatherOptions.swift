import ArgumentParser
import ServiceKit

/// The service's own flags. What is absent comes from the environment, else from the default.
struct WeatherOptions: ParsableArguments {
    @Option(name: .customLong(Setting.weatherProvider.flag), help: Setting.weatherProvider.help)
    var provider: String?

    @Option(name: .customLong(Setting.weatherURL.flag), help: Setting.weatherURL.help)
    var url: String?

    @Option(name: .customLong(Setting.weatherContact.flag), help: Setting.weatherContact.help)
    var contact: String?

    @Option(name: .customLong(Setting.weatherKitKeyFile.flag), help: Setting.weatherKitKeyFile.help)
    var keyFile: String?

    @Option(name: .customLong(Setting.weatherKitKeyID.flag), help: Setting.weatherKitKeyID.help)
    var keyID: String?

    @Option(name: .customLong(Setting.weatherKitTeam.flag), help: Setting.weatherKitTeam.help)
    var team: String?

    @Option(name: .customLong(Setting.weatherKitService.flag), help: Setting.weatherKitService.help)
    var service: String?
}
