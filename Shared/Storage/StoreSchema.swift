/// What a service's store holds. Its version is the number of steps; a store of an older version is taken through those
/// it lacks.
package struct StoreSchema: Sendable {
    /// The service the store belongs to.
    package let service: String
    /// The collections that each version added.
    package let steps: [[StoreCollection]]

    package init(service: String, steps: [[StoreCollection]]) {
        self.service = service
        self.steps = steps
    }

    var version: Int { steps.count }
}
