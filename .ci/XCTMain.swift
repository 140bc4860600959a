import Testing
import XCTest

/// The entry point of all tests. SwiftPM otherwise searches an index of the sources for tests of XCTest, of which there are none.
@main struct Main {
    static func main() async {
        if CommandLine.arguments.contains("swift-testing") { await Testing.__swiftPMEntryPoint() as Never }
        XCTMain([] as [XCTestCaseEntry])
    }
}
