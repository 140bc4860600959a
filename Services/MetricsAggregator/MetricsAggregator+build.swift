import ServiceKit
import Storage
import Streams

extension MetricsAggregator {
    /// Opens the store, unless the caller passes one, and wires the service to the broker.
    static func build(
        _ context: ServiceContext, _ bounds: StreamBounds = StreamBounds(), store: (any Store)? = nil
    ) throws -> StreamService<SampleWork> {
        StreamService(
            context: context, store: try store ?? context.openStore(StreamStore.schema(SampleWork.service)),
            bounds: bounds)
    }
}
