package import ArgumentParser

/// The flags of an executable that keeps data. What is absent comes from the environment, else from the default.
package struct StoreOptions: ParsableArguments {
    @Option(name: .customLong(Setting.storeURL.flag), help: Setting.storeURL.help)
    package var storeURL: String?

    @Option(name: .customLong(Setting.shards.flag), help: Setting.shards.help)
    package var shards: String?

    package init() {}
}
