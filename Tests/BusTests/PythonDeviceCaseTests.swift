import Foundation
import TestSupport
import Testing

struct PythonDeviceCaseTests {
    @Test(.disabled(if: Python.lacks("paho.mqtt"), "PYTHON has no paho-mqtt"))
    func `the example device in Python passes the cases of streams and requests`() async throws {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        let examples = here.appending(path: "../../Shared/Bus/examples").standardized.path
        let folder = try TemporaryFolder()
        try await ChildProcess.run(
            [Python.interpreter, here.appending(path: "device_cases.py").path, examples], log: folder.file("log"))
    }
}
