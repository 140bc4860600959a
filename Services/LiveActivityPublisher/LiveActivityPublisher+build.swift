import ServiceKit
import Storage

extension LiveActivityPublisher {
    /// Opens the store, unless the caller passes one, and wires the service to the broker and APNs.
    static func build(
        _ context: ServiceContext, _ configuration: APNsConfiguration, store: (any Store)? = nil,
        limits: APNsClient.Limits = APNsClient.Limits()
    ) throws -> LiveActivityPublisherService {
        LiveActivityPublisherService(
            context: context, configuration: configuration,
            store: try store ?? context.openStore(ActivityRecord.schema), limits: limits)
    }
}
