import ServiceKit
import Storage

extension SessionEngine {
    /// Opens the store, unless the caller passes one, and wires the service to the broker.
    static func build(
        _ context: ServiceContext, asksCoach: Bool, store: (any Store)? = nil
    ) throws -> SessionEngineService {
        SessionEngineService(
            context: context, store: try store ?? context.openStore(SessionRecord.schema), asksCoach: asksCoach)
    }
}
