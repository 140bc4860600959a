import ServiceKit
import Storage

extension Dashboard {
    /// All collections of the store.
    static let schema = StoreSchema(service: "dashboard", steps: [[.logins, .browsers, .presses]])

    /// Opens the store, unless the caller passes one, and wires the service to the broker and its web server.
    ///
    /// - Parameter onListening: receives the web server's port once it accepts requests.
    static func build(
        _ context: ServiceContext, _ configuration: DashboardConfiguration, store: (any Store)? = nil,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws -> DashboardService {
        let parts = DashboardParts(
            context: context, configuration: configuration, hub: LiveHub(clock: context.clock),
            store: try store ?? context.openStore(schema))
        return DashboardService(parts: parts, onListening: onListening)
    }
}

/// What routes and loop share.
struct DashboardParts: Sendable {
    let context: ServiceContext
    let configuration: DashboardConfiguration
    let hub: LiveHub
    let store: any Store
}
