import ServiceKit
import Storage

extension Exporter {
    /// Opens the store, unless the caller passes one, and wires the service to the broker and its targets.
    static func build(
        _ context: ServiceContext, _ configuration: ExportConfiguration, store: (any Store)? = nil,
        uploadTimeout: Duration = UploadTarget.timeout
    ) throws -> ExporterService {
        ExporterService(
            context: context, configuration: configuration,
            store: try store ?? context.openStore(ExportRecord.schema), uploadTimeout: uploadTimeout)
    }
}
