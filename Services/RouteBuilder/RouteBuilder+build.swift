import ServiceKit
import Storage
import Streams

extension RouteBuilder {
    /// Opens the store, unless the caller passes one, and wires the service to the broker.
    static func build(
        _ context: ServiceContext, _ bounds: StreamBounds = StreamBounds(), store: (any Store)? = nil
    ) throws -> StreamService<RouteWork> {
        StreamService(
            context: context, store: try store ?? context.openStore(StreamStore.schema(RouteWork.service)),
            bounds: bounds)
    }
}
