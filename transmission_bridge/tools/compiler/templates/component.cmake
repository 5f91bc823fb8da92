
# The hardware component, in a workspace with ros2_control.
find_package(hardware_interface QUIET)
find_package(pluginlib QUIET)
find_package(tinyxml2_vendor QUIET)
find_package(TinyXML2 QUIET)
if(hardware_interface_FOUND AND pluginlib_FOUND AND TinyXML2_FOUND)
  enable_language(CXX)
  add_library(NAME_component SHARED
    src/mapped/core.cpp src/mapped/mapped_system.cpp src/mapped/setup.cpp)
  target_compile_features(NAME_component PRIVATE cxx_std_17)
  target_compile_definitions(NAME_component PRIVATE MAPPED_ROBOT="NAME_robot.hpp")
  target_compile_options(NAME_component PRIVATE ${options} $<$<NOT:$<CONFIG:Debug>>:-O2>)
  target_include_directories(NAME_component PRIVATE src)
  target_link_libraries(NAME_component PRIVATE
    NAME hardware_interface::hardware_interface pluginlib::pluginlib tinyxml2::tinyxml2)
  install(TARGETS NAME_component LIBRARY DESTINATION lib)
  pluginlib_export_plugin_description_file(hardware_interface NAME_hardware.xml)
elseif(hardware_interface_FOUND)
  message(FATAL_ERROR "NAME: no component, pluginlib or tinyxml2_vendor was not found: run rosdep install")
else()
  message(STATUS "NAME: no component, hardware_interface was not found: the C maps alone are built")
endif()
