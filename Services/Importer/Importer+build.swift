import ServiceKit
import Storage

extension Importer {
    /// Opens the store, unless the caller passes one, and wires the service to the broker.
    static func build(_ context: ServiceContext, store: (any Store)? = nil) throws -> ImporterService {
        ImporterService(context: context, store: try store ?? context.openStore(ImportRecord.schema))
    }
}
