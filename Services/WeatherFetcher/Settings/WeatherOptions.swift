import ArgumentParser

/// The service's own flags. What is absent comes from the environment, else from the default.
struct WeatherOptions: ParsableArguments {
    @Option(name: .customLong(WeatherSetting.provider.flag), help: WeatherSetting.provider.help)
    var provider: String?

    @Option(name: .customLong(WeatherSetting.url.flag), help: WeatherSetting.url.help)
    var url: String?

    @Option(name: .customLong(WeatherSetting.contact.flag), help: WeatherSetting.contact.help)
    var contact: String?

    @Option(name: .customLong(WeatherSetting.keyFile.flag), help: WeatherSetting.keyFile.help)
    var keyFile: String?

    @Option(name: .customLong(WeatherSetting.keyID.flag), help: WeatherSetting.keyID.help)
    var keyID: String?

    @Option(name: .customLong(WeatherSetting.team.flag), help: WeatherSetting.team.help)
    var team: String?

    @Option(name: .customLong(WeatherSetting.service.flag), help: WeatherSetting.service.help)
    var service: String?
}
