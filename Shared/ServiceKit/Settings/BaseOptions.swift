package import ArgumentParser

/// The flags of every executable. An absent flag falls back to the environment, then to the default.
package struct BaseOptions: ParsableArguments {
    @Option(name: .customLong(Setting.mqttURL.flag), help: Setting.mqttURL.help)
    package var mqttURL: String?

    @Option(name: .customLong(Setting.mqttVersion.flag), help: Setting.mqttVersion.help)
    package var mqttVersion: String?

    @Option(name: .customLong(Setting.mqttCAFile.flag), help: Setting.mqttCAFile.help)
    package var mqttCAFile: String?

    @Option(name: .customLong(Setting.mqttCertFile.flag), help: Setting.mqttCertFile.help)
    package var mqttCertFile: String?

    @Option(name: .customLong(Setting.mqttKeyFile.flag), help: Setting.mqttKeyFile.help)
    package var mqttKeyFile: String?

    @Option(name: .customLong(Setting.httpPort.flag), help: Setting.httpPort.help)
    package var httpPort: String?

    @Option(name: .customLong(Setting.httpHost.flag), help: Setting.httpHost.help)
    package var httpHost: String?

    @Option(name: .customLong(Setting.logLevel.flag), help: Setting.logLevel.help)
    package var logLevel: String?

    @Option(name: .customLong(Setting.logFormat.flag), help: Setting.logFormat.help)
    package var logFormat: String?

    @Option(name: .customLong(Setting.logName.flag), help: Setting.logName.help)
    package var logName: String?

    package init() {}
}

/// The flags of an executable with a store. An absent flag falls back to the environment, then to the default.
package struct StoreOptions: ParsableArguments {
    @Option(name: .customLong(Setting.storeURL.flag), help: Setting.storeURL.help)
    package var storeURL: String?

    @Option(name: .customLong(Setting.storeCAFile.flag), help: Setting.storeCAFile.help)
    package var storeCAFile: String?

    @Option(name: .customLong(Setting.shards.flag), help: Setting.shards.help)
    package var shards: String?

    package init() {}
}
