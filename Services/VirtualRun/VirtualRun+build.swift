import ServiceKit
import Storage

extension VirtualRun {
    /// Opens the store, unless the caller passes one, and wires the service to the broker.
    static func build(_ context: ServiceContext, store: (any Store)? = nil) throws -> VirtualRunService {
        VirtualRunService(context: context, store: try store ?? context.openStore(RunRecord.schema))
    }
}
