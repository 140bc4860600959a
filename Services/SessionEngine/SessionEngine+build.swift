import ServiceKit

extension SessionEngine {
    /// Opens the store and wires the service to the broker.
    static func build(_ context: ServiceContext, asksCoach: Bool) throws -> SessionEngineService {
        SessionEngineService(context: context, store: try context.openStore(SessionRecord.schema), asksCoach: asksCoach)
    }
}
