import Logging
import MQTT
package import Workouts

extension ServiceConfiguration {
    /// Resolves each setting: flag, then environment variable, then default. An empty variable counts as absent.
    ///
    /// Reads the password file and checks that other named files are readable.
    /// - Throws: `SettingError` for the first invalid setting.
    package static func resolve(
        _ name: String, _ base: BaseOptions, _ store: StoreOptions? = nil, environment: [String: String],
        instance: ProcessName = .unique()
    ) throws(SettingError) -> ServiceConfiguration {
        var configuration = ServiceConfiguration(name: name, instance: instance)
        let values = SettingValues(environment: environment)
        try configuration.mqtt.apply(base, values)
        configuration.httpHost =
            try values.value(.httpHost, base.httpHost) { $0.isEmpty ? nil : $0 } ?? configuration.httpHost
        configuration.httpPort =
            try values.value(.httpPort, base.httpPort) { UInt16($0).map(Int.init) } ?? configuration.httpPort
        configuration.logLevel =
            try values.value(.logLevel, base.logLevel) { Logger.Level(rawValue: $0) } ?? configuration.logLevel
        configuration.logFormat =
            try values.value(.logFormat, base.logFormat) { LogFormat(rawValue: $0) } ?? configuration.logFormat
        configuration.logName =
            try values.value(.logName, base.logName) { name in
                name.isEmpty || !name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
                    ? nil : name
            }
            ?? configuration.logName
        if let store {
            configuration.shards =
                try values.value(.shards, store.shards) { ShardSelection($0) } ?? configuration.shards
            configuration.store = try values.store(store) ?? configuration.store
        }
        return configuration
    }
}

extension MQTTConfiguration {
    fileprivate mutating func apply(_ base: BaseOptions, _ values: SettingValues) throws(SettingError) {
        let url = try values.mqttURL(base.mqttURL)
        host = url.host
        port = url.port
        otherPartitions = url.otherPartitions
        username = url.user
        password = try values.password() ?? url.password
        currentPassword = values.currentPassword()
        version = try values.value(.mqttVersion, base.mqttVersion) { Version(rawValue: $0) } ?? version
        let files = TLS(
            caFile: try values.file(.mqttCAFile, base.mqttCAFile),
            certificateFile: try values.file(.mqttCertFile, base.mqttCertFile),
            keyFile: try values.file(.mqttKeyFile, base.mqttKeyFile))
        if (files.certificateFile == nil) != (files.keyFile == nil) {
            let (given, missing): (Setting, Setting) =
                files.keyFile == nil ? (.mqttCertFile, .mqttKeyFile) : (.mqttKeyFile, .mqttCertFile)
            throw SettingError(given, "requires \(missing.name)")
        }
        if !url.isTLS, files != TLS() {
            throw SettingError(Setting.mqttURL.name, "is not TLS, but TLS files are set; use mqtts://…")
        }
        tls = url.isTLS ? files : nil
        if password != nil, username == nil {
            throw SettingError(Setting.mqttURL.name, "has no user, but a password is set; use mqtt://USER@HOST")
        }
    }
}
